/** Envoy's Lua filter as a body-hashing router: reads the body, hashes it, names a host. */
export function luaFilter(hosts: string[]): object {
  const list = hosts.map((host) => JSON.stringify(host)).join(", ");
  const code = `
local hosts = { ${list} }
function envoy_on_request(handle)
  local body = handle:body()
  if body == nil then return end
  local size = body:length()
  local bytes = body:getBytes(0, size)
  local hash = 5381
  for i = 1, math.min(size, ${HASHED_BYTES}) do
    hash = (hash * 33 + bytes:byte(i)) % 4294967296
  end
  handle:headers():replace("x-gateway-destination-endpoint", hosts[hash % #hosts + 1])
end
`;
  return {
    name: "envoy.filters.http.lua",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      default_source_code: { inline_string: code },
    },
  };
}

/** It hashes a fixed head of the body, as scripts of this kind do, not all of it. */
const HASHED_BYTES = 2048;
