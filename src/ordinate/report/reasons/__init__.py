"""Why encodings succeed and fail: predictions with their outcomes, open questions, and two mechanisms."""
