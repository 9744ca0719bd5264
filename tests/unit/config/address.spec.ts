import { text } from "../../../assembly/bytes";
import { Address, parseAddress } from "../../../assembly/config/address";

const address = new Address();

/** `whole | port` of an address; `no` if it isn't one. */
function read(written: string): string {
  const bytes = text(written);
  if (!parseAddress(bytes.ptr, bytes.len, address)) return address.len == 0 ? "no" : "not empty";
  const whole = String.UTF8.decodeUnsafe(address.ptr, address.len);
  return whole + " | " + address.port.toString();
}

describe("parseAddress", () => {
  it("reads IPv4 with a port", () => {
    expect(read("10.0.0.1:8000")).toBe("10.0.0.1:8000 | 8000");
    expect(read("0.0.0.0:1")).toBe("0.0.0.0:1 | 1");
    expect(read("255.255.255.255:65535")).toBe("255.255.255.255:65535 | 65535");
    expect(read("192.168.100.7:80")).toBe("192.168.100.7:80 | 80");
  });

  it("writes IPv6 as inet_ntop does", () => {
    const cases: string[] = [
      "[::]:80",
      "[::]:80 | 80",
      "[::1]:8000",
      "[::1]:8000 | 8000",
      "[1::]:80",
      "[1::]:80 | 80",
      "[2001:DB8::1]:80",
      "[2001:db8::1]:80 | 80",
      "[2001:0db8:0000:0000:0000:0000:0000:0001]:80",
      "[2001:db8::1]:80 | 80",
      "[1:2:3:4:5:6:7:8]:80",
      "[1:2:3:4:5:6:7:8]:80 | 80",
      // A single zero group stays, of equal runs the first is compressed, else the longest.
      "[1::3:4:5:6:7:8]:80",
      "[1:0:3:4:5:6:7:8]:80 | 80",
      "[1:0:0:4:5:0:0:8]:80",
      "[1::4:5:0:0:8]:80 | 80",
      "[1:0:0:4:0:0:0:8]:80",
      "[1:0:0:4::8]:80 | 80",
      "[1:2:3:4:5:6::]:80",
      "[1:2:3:4:5:6::]:80 | 80",
      "[::3:4:5:6:7:8]:80",
      "[::3:4:5:6:7:8]:80 | 80",
      // IPv4 inside IPv6.
      "[::ffff:102:304]:80",
      "[::ffff:1.2.3.4]:80 | 80",
      "[::FFFF:255.255.255.255]:65535",
      "[::ffff:255.255.255.255]:65535 | 65535",
      "[::1.2.3.4]:80",
      "[::1.2.3.4]:80 | 80",
      "[64:ff9b::1.2.3.4]:80",
      "[64:ff9b::102:304]:80 | 80",
      "[1:2:3:4:5:6:7.8.9.10]:80",
      "[1:2:3:4:5:6:708:90a]:80 | 80",
      "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
      "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 | 65535",
    ];
    for (let i = 0; i < cases.length; i += 2) expect(read(cases[i])).toBe(cases[i + 1], cases[i]);
  });

  it("refuses what isn't ip:port", () => {
    const cases: string[] = [
      "",
      ":",
      ":80",
      "80",
      "a:80",
      "localhost:80",
      "10.0.0.1",
      "10.0.0.1:",
      "10.0.0.1:0",
      "10.0.0.1:00080",
      "10.0.0.1:080",
      "10.0.0.1:65536",
      "10.0.0.1:100000",
      "10.0.0.1:8a",
      "10.0.0.1:-1",
      "10.0.0.1: 80",
      " 10.0.0.1:80",
      "10.0.0.1:80 ",
      "10.0.0.256:80",
      "10.0.0:80",
      "10.0.0.1.2:80",
      "10.0.0.:80",
      ".0.0.1:80",
      "10..0.1:80",
      "010.0.0.1:80",
      "1.2.3.04:80",
      "1000.0.0.1:80",
      "4294967297.0.0.1:80",
      "[10.0.0.1]:80",
      "::1:80",
      "[::1]",
      "[::1]:",
      "[::1]80",
      "[::1:80",
      "::1]:80",
      "[]:80",
      "[:]:80",
      "[:::]:80",
      "[1:]:80",
      "[:1]:80",
      "[1::2::3]:80",
      "[1:2:3:4:5:6:7]:80",
      "[1:2:3:4:5:6:7:8:9]:80",
      "[1:2:3:4:5:6:7:8::]:80",
      "[::1:2:3:4:5:6:7:8]:80",
      "[12345::]:80",
      "[g::]:80",
      "[::1%eth0]:80",
      "[::1.2.3]:80",
      "[::1.2.3.4.5]:80",
      "[1:2:3:4:5:6:7:1.2.3.4]:80",
      "[::1.2.3.4:5]:80",
      "[::1.2.3.256]:80",
      "[[::1]]:80",
      "[::1]:80:90",
      "10.0.0.1:80,10.0.0.2:80",
      "[1.2.3.4::]:80",
    ];
    for (let i = 0; i < cases.length; i++) expect(read(cases[i])).toBe("no", cases[i]);
  });

  it("keeps what it wrote when read again", () => {
    const written: string[] = ["[::ffff:1.2.3.4]:80", "[1:0:0:4::8]:80", "10.0.0.1:8000"];
    for (let i = 0; i < written.length; i++) {
      read(written[i]);
      const once = String.UTF8.decodeUnsafe(address.ptr, address.len);
      expect(read(once).startsWith(written[i] + " |")).toBe(true, written[i]);
    }
  });
});
