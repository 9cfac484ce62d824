"""Speed and memory beside other libraries: ratios of things measured in turns, in one run."""
