"""One file a dialect: pure rules from records to messages, and what each client would send again."""
