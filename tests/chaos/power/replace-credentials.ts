/** Replaces the credentials of a home by ones with another name of the workspace. */
import process from "node:process";
import { createCredentialStore } from "../../../adapters/cloud-credentials/credential-store.ts";

const [, , home = ""] = process.argv;
const store = createCredentialStore(home);
const credentials = await store.read();
if (credentials === null) throw new Error(`no credentials in ${home}`);
await store.write({ ...credentials, workspaceName: `${credentials.workspaceName}+` });
