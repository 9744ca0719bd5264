/** The status that proxy-wasm hosts answer for a function they do not have. */
const UNIMPLEMENTED = 12;

/** Which specs run: paths or globs in WARMROUTE_SPECS, comma separated; else all of them. */
const specs = process.env.WARMROUTE_SPECS?.split(",") ?? ["tests/unit/**/*.spec.ts"];

export default {
  entries: specs,
  include: ["tests/unit/**/*.include.ts"],
  disclude: [/node_modules/],
  /** Unit tests run without Envoy: host functions that a spec pulls in answer "unimplemented". */
  async instantiate(memory, createImports, instantiate, binary) {
    const imports = createImports({ env: { memory } });
    for (const { module, name, kind } of WebAssembly.Module.imports(
      new WebAssembly.Module(binary),
    )) {
      if (kind !== "function") continue;
      imports[module] ??= {};
      imports[module][name] ??= () => UNIMPLEMENTED;
    }
    return instantiate(binary, imports);
  },
  outputBinary: false,
};
