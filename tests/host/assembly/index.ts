/** The filter that the host's own tests drive: each request says in headers what to do with it. */
export * from "../../../assembly/host/exports";
import { setRootFactory } from "../../../assembly/host/contexts";
import { TestRoot } from "./root";

setRootFactory((id: u32) => new TestRoot());
