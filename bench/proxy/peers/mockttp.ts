import { writeFileSync } from "node:fs";
import process from "node:process";
import { generateCACertificate, getLocal } from "mockttp";

const [port, folder, providerCa] = process.argv.slice(2) as [string, string, string];
const https = await generateCACertificate();
writeFileSync(`${folder}/ca.pem`, https.cert);
const server = getLocal({ https, http2: false, recordTraffic: false });
await server.forAnyRequest().thenPassThrough({ additionalTrustedCAs: [{ certPath: providerCa }] });
await server.start(Number(port));
process.send?.({ caFile: `${folder}/ca.pem` });
