#!/usr/bin/env node
// Starts the Bun binary of this platform. The `bun` package itself needs an install script; its platform packages do not.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import process from "node:process";

const os = { win32: "windows" }[process.platform] ?? process.platform;
const cpu = process.arch === "arm64" && os !== "windows" ? "aarch64" : process.arch;
const file = os === "windows" ? "bin/bun.exe" : "bin/bun";
const binary = createRequire(import.meta.url).resolve(`@oven/bun-${os}-${cpu}/${file}`);
const child = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (child.error) throw child.error;
process.exit(child.status ?? 1);
