"""The pages, by the names that stand in their addresses."""

PAGES = {
    "compare": ("Compare", ":material/balance:"),
    "comparisons": ("Comparisons", ":material/bar_chart:"),
    "runs": ("Runs", ":material/table_rows:"),
    "results": ("Your results", ":material/upload_file:"),
    "encodings": ("Encodings", ":material/sort:"),
}
