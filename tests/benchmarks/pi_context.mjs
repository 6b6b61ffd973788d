// Open a session with pi and build the context that it would go on with; print how many messages that has.
import { SessionManager } from "./node_modules/@mariozechner/pi-coding-agent/dist/core/session-manager.js";

const manager = SessionManager.open(process.argv[2]);
console.log(manager.buildSessionContext().messages.length);
