/** The host functions in use, as declared by the SDK. Nothing else of the SDK is used. */
export {
  proxy_continue_stream,
  proxy_define_metric,
  proxy_get_buffer_bytes,
  proxy_get_current_time_nanoseconds,
  proxy_get_header_map_pairs,
  proxy_get_header_map_value,
  proxy_get_log_level,
  proxy_get_metric,
  proxy_get_property,
  proxy_get_shared_data,
  proxy_http_call,
  proxy_increment_metric,
  proxy_log,
  proxy_record_metric,
  proxy_remove_header_map_value,
  proxy_replace_header_map_value,
  proxy_send_local_response,
  proxy_set_effective_context,
  proxy_set_property,
  proxy_set_shared_data,
  proxy_set_tick_period_milliseconds,
} from "@gcoredev/proxy-wasm-sdk-as/assembly/imports";

/** Statuses that host functions answer with. */
export const enum Status {
  Ok = 0,
  NotFound = 1,
  CasMismatch = 8,
}
