"""Where bytes of records stand: plain files, compressed files and rows of databases, read again by their place."""
