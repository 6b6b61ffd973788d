"""crabtalk: RFC 0064 with the fields of 0135."""
