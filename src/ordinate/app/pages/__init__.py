"""The pages: by the name in their address, the module, the title and the icon of each."""

PAGES = {
    "start": ("start", "Start", ":material/home:"),
    "compare": ("new_comparison", "Compare", ":material/balance:"),
    "comparisons": ("comparisons", "Comparisons", ":material/bar_chart:"),
    "runs": ("runs", "Runs", ":material/table_rows:"),
    "models": ("language_models", "Language models", ":material/text_fields:"),
    "results": ("results", "Your results", ":material/upload_file:"),
    "learn": ("learn", "Learn", ":material/school:"),
    "encodings": ("encodings", "Encodings", ":material/sort:"),
}
