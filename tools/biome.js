#!/usr/bin/env node
import { platform, runBinary } from "./platform-binary.js";

const { node, arch } = platform;
runBinary(`@biomejs/cli-${node}-${arch}`, node === "win32" ? "biome.exe" : "biome", [
  "npx",
  "--yes",
  "@biomejs/biome@2.6.8",
]);
