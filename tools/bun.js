#!/usr/bin/env node
import { platform, runBinary } from "./platform-binary.js";

const { os, arch } = platform;
const cpu = arch === "arm64" && os !== "windows" ? "aarch64" : arch;
runBinary(`@oven/bun-${os}-${cpu}`, os === "windows" ? "bin/bun.exe" : "bin/bun");
