/** What is read of Envoy's admin interface: `/config_dump`, `/clusters?format=json`. Fields may be missing. */

/** A message of a type that the field names. */
export interface Typed {
  "@type"?: string;
  /** Of a TypedStruct. */
  type_url?: string;
  value?: unknown;
}

export interface Plugin {
  name?: string;
  allow_on_headers_stop_iteration?: boolean;
  failure_policy?: string;
  fail_open?: boolean;
  configuration?: Typed;
}

export interface HttpFilter {
  name?: string;
  typed_config?: Typed & { config?: Plugin; value?: { config?: Plugin } };
}

export interface Route {
  request_body_buffer_limit?: string | number;
  per_request_buffer_limit_bytes?: string | number;
  request_headers_to_remove?: string[];
  /** Missing where the route answers or redirects by itself. */
  route?: {
    cluster?: string;
    weighted_clusters?: { clusters?: { name?: string }[] };
    timeout?: string;
    retry_policy?: object;
  };
}

export interface RouteConfig {
  name?: string;
  virtual_hosts?: { routes?: Route[] }[];
}

export interface Manager extends Typed {
  http_filters?: HttpFilter[];
  route_config?: RouteConfig;
  rds?: { route_config_name?: string };
}

export interface SocketAddress {
  socket_address?: { address?: string; port_value?: number };
}

export interface Listener {
  name?: string;
  address?: SocketAddress;
  per_connection_buffer_limit_bytes?: number;
}

export interface Cluster {
  name?: string;
  circuit_breakers?: { thresholds?: { max_requests?: number }[] };
  load_balancing_policy?: {
    policies?: {
      typed_extension_config?: {
        typed_config?: Typed & { override_host_sources?: { header?: string }[] };
      };
    }[];
  };
}

export interface ConfigDump {
  configs?: {
    "@type"?: string;
    static_listeners?: { listener?: Listener }[];
    dynamic_listeners?: { active_state?: { listener?: Listener } }[];
    static_clusters?: { cluster?: Cluster }[];
    dynamic_active_clusters?: { cluster?: Cluster }[];
    static_route_configs?: { route_config?: RouteConfig }[];
    dynamic_route_configs?: { route_config?: RouteConfig }[];
    ecds_filters?: { ecds_filter?: HttpFilter }[];
  }[];
}

export interface ClusterStatuses {
  cluster_statuses?: {
    name?: string;
    host_statuses?: {
      address?: SocketAddress;
      /** Besides `eds_health_status`, one flag for each way to be unwell. */
      health_status?: {
        eds_health_status?: string;
        [failure: string]: boolean | string | undefined;
      };
    }[];
  }[];
}
