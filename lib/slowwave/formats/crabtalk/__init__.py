"""crabtalk: sessions of the daemon, a file each."""
