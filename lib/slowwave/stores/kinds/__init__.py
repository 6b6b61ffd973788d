"""Where each client keeps its sessions; a new client is one new file here and a row in ``registry``."""
