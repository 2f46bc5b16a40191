/** A process that appends: `node append-many.ts <home> <name> <count> <file bytes>`. It starts at a line on stdin. */
import { once } from "node:events";
import process from "node:process";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";

const [home = "", name = "", count = "0", fileBytes = "0"] = process.argv.slice(2);
const outbox = createOutbox(home, Number(fileBytes));
process.stdout.write("ready\n");
await once(process.stdin, "data");
for (let n = 0; n < Number(count); n += 1) {
  await outbox.append({
    kind: "metadata",
    at: n,
    origin: "https://cloud",
    projects: [name],
    requestIds: [`${name}-${n}`],
    fields: ["model"],
    payload: "x".repeat(2_000),
  });
}
process.exit(0);
