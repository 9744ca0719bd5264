import { type Bytes, readPairs, Status, toText } from "./abi.ts";
import type { Guest } from "./guest.ts";
import { HeaderMap } from "./headers.ts";
import { Stream } from "./stream.ts";

const REQUEST = 0;
const RESPONSE = 1;

/** Host functions that let a stream go on, answer it or end it. Envoy does so after the callback. */
export function streamImports(guest: Guest): Record<string, (...numbers: number[]) => number> {
  return {
    proxy_continue_stream(type = 0) {
      const stream = guest.effective;
      if (type !== REQUEST && type !== RESPONSE) return Status.BadArgument;
      if (!(stream instanceof Stream)) return Status.Ok;
      stream.continues++;
      stream.request.headersVisible = false;
      guest.defer(() => (type === REQUEST ? stream.request : stream.response).resume());
      return Status.Ok;
    },
    proxy_send_local_response(
      status = 0,
      details = 0,
      detailsSize = 0,
      body = 0,
      bodySize = 0,
      pairs = 0,
      pairsSize = 0,
    ) {
      const stream = guest.effective;
      const extra = new HeaderMap();
      const add = (name: Bytes, value: Bytes) => extra.add(name, value);
      if (!readPairs(guest.view(), pairs >>> 0, pairsSize, add)) return Status.InvalidMemoryAccess;
      const reason = toText(guest.read(details, detailsSize));
      const bytes = guest.readBuffer(body, bodySize);
      guest.stopNext = true;
      if (stream instanceof Stream) guest.defer(() => stream.reply(status, reason, extra, bytes));
      return Status.Ok;
    },
    proxy_clear_route_cache: () => Status.Ok,
    proxy_set_effective_context(id = 0) {
      const context = guest.contexts.get(id >>> 0);
      if (!context) return Status.BadArgument;
      guest.effective = context;
      return Status.Ok;
    },
    proxy_done() {
      const context = guest.effective;
      if (!context) return Status.BadArgument;
      guest.whenIdle(() => context.remove());
      return Status.Ok;
    },
  };
}

/** What stock Envoy offers beyond what this host knows. */
export const UNIMPLEMENTED = [
  "proxy_get_status",
  "proxy_close_stream",
  "proxy_register_shared_queue",
  "proxy_resolve_shared_queue",
  "proxy_enqueue_shared_queue",
  "proxy_dequeue_shared_queue",
  "proxy_set_buffer_bytes",
  "proxy_grpc_call",
  "proxy_grpc_stream",
  "proxy_grpc_cancel",
  "proxy_grpc_close",
  "proxy_grpc_send",
  "proxy_call_foreign_function",
] as const;
