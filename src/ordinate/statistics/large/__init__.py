"""For files of millions of rows only: the cells of `statistics/cells.py`, computed for whole columns at once.

`cells.py` is the definition, and what runs for a comparison of tens of encodings. A million of its objects would take
minutes and gigabytes, so from `analyze.LARGE` rows on the same is computed here: rows are sorted once into a `Grid` in
which every task, range and cell is a slice, and each rule is an operation on whole columns. A test holds both to the
same results (tests/oracle/test_plain_analysis.py).
"""
