// Opens a session with pi's own SessionManager: the comparator of the load benchmark.
import { SessionManager } from "./node_modules/@mariozechner/pi-coding-agent/dist/core/session-manager.js";

const manager = SessionManager.open(process.argv[2]);
console.log(manager.getEntries().length);
