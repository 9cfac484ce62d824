"""The mathematics that several encodings share."""
