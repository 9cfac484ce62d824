"""From scores to a verdict and its sentences: cells, intervals, tests, ranks, alarms. Nothing here trains or stores."""
