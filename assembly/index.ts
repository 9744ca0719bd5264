/** The filter's exports: the proxy-wasm ABI, with our root context behind it. */
import { Root } from "./filter/root";
import { RootContext, setRootFactory } from "./host/contexts";

export * from "./host/exports";

setRootFactory((id: u32): RootContext | null => new Root(id));
