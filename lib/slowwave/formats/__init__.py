"""The clients' formats: bytes to records, records to messages, and what each client would send again."""
