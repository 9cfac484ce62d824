"""Pure functions on numbers: baselines, intervals, tests, ranks, alarms."""
