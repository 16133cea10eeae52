/** A number as YAML 1.1 and TOML read it: with a dot before its exponent, without which YAML has a string. */
export function yamlNumber(value: number): string {
  return String(value).replace(/^(-?\d+)e/, '$1.0e');
}
