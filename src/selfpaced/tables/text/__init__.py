"""Text files, converted to Parquet once."""
