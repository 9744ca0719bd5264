import { Text, text } from "../bytes";

/** Where a value of Envoy's answer stands; everything not listed is skipped. */
export const enum Place {
  None,
  Root,
  Clusters,
  Cluster,
  Hosts,
  Host,
  Address,
  Socket,
  Health,
  Stats,
  Stat,
}

/** A value that is kept. */
export const enum Item {
  None,
  /** Of a cluster or a statistic. */
  Name,
  Ip,
  Port,
  EdsStatus,
  Degraded,
  Priority,
  /** A flag with which Envoy itself sends nothing to a host. */
  Unusable,
  /** Of a statistic. */
  Value,
}

/** A key, where it counts, and what it leads to: a place or an item. */
export class Key {
  constructor(
    public place: Place,
    public name: Text,
    public to: Place,
    public item: Item,
  ) {}
}

export const KEYS: StaticArray<Key> = [
  new Key(Place.Root, text("cluster_statuses"), Place.Clusters, Item.None),
  new Key(Place.Cluster, text("name"), Place.None, Item.Name),
  new Key(Place.Cluster, text("host_statuses"), Place.Hosts, Item.None),
  new Key(Place.Host, text("priority"), Place.None, Item.Priority),
  new Key(Place.Host, text("address"), Place.Address, Item.None),
  new Key(Place.Host, text("health_status"), Place.Health, Item.None),
  new Key(Place.Host, text("stats"), Place.Stats, Item.None),
  new Key(Place.Address, text("socket_address"), Place.Socket, Item.None),
  new Key(Place.Socket, text("address"), Place.None, Item.Ip),
  new Key(Place.Socket, text("port_value"), Place.None, Item.Port),
  new Key(Place.Health, text("eds_health_status"), Place.None, Item.EdsStatus),
  new Key(Place.Health, text("failed_active_degraded_check"), Place.None, Item.Degraded),
  new Key(Place.Health, text("failed_active_health_check"), Place.None, Item.Unusable),
  new Key(Place.Health, text("failed_outlier_check"), Place.None, Item.Unusable),
  new Key(Place.Health, text("pending_dynamic_removal"), Place.None, Item.Unusable),
  new Key(Place.Health, text("excluded_via_immediate_hc_fail"), Place.None, Item.Unusable),
  new Key(Place.Health, text("active_hc_timeout"), Place.None, Item.Unusable),
  new Key(Place.Stat, text("name"), Place.None, Item.Name),
  new Key(Place.Stat, text("value"), Place.None, Item.Value),
];

/** The place below `place` in an object or array, where the present key leads to `to`. */
export function placeBelow(place: Place, to: Place, isObject: bool): Place {
  switch (place) {
    case Place.None:
      return isObject ? Place.Root : Place.None;
    case Place.Clusters:
      return isObject ? Place.Cluster : Place.None;
    case Place.Hosts:
      return isObject ? Place.Host : Place.None;
    case Place.Stats:
      return isObject ? Place.Stat : Place.None;
  }
  const isList = to == Place.Clusters || to == Place.Hosts || to == Place.Stats;
  return isList != isObject ? to : Place.None;
}
