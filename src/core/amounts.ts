import { own } from './records';
/** What a letter behind a number multiplies it by: `binary`, as sequence lengths are written (8k is 8,192), or `decimal` (15T tokens). */
type AmountBase = 'binary' | 'decimal';

const powers: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3, b: 3, t: 4 };

/**
 * A number as people write it: `4,096`, `1_000`, `1e12`, `8k`, `128K`, `1.5M`, `15T`. `Ki`, `Mi`, `Gi` and `Ti` are powers of 1,024 and B
 * is 1e9 in either base.
 * @returns null for what is not an amount.
 */
export function parseAmount(written: string, base: AmountBase): number | null {
  const [, digits, letter = '', binary] =
    /^([+-]?(?:\d[\d_]*|\d{1,3}(?:,\d{3})+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmgbt]?)(i?)$/i.exec(written.trim()) ?? [];
  if (digits === undefined || !/\d/.test(digits) || (binary !== '' && letter === '')) return null;
  const unit = letter.toLowerCase();
  const step = binary !== '' || (base === 'binary' && unit !== 'b' && unit !== 't') ? 1024 : 1000;
  const value = Number(digits.replaceAll(/[_,]/g, '')) * step ** (own(powers, unit) ?? 0);
  return Number.isFinite(value) ? value : null;
}

const bytesPerUnit: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/**
 * A rate of a link in GB/s: `100Gb/s`, `400 Gbps`, `12.5GB/s`, `8x400Gb/s` (links of one node together). Small b are bits, B bytes.
 * @returns null for what is not a rate with its unit.
 */
export function parseBandwidth(written: string): number | null {
  const [, links = '1', digits, prefix = '', unit] =
    /^(?:(\d{1,4})\s*[x*]\s*)?(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmgt]?)i?(b|B|bit|bits|byte|bytes)(?:\/s|ps)?$/i.exec(written.trim()) ?? [];
  if (digits === undefined || unit === undefined) return null;
  const bytes = unit === 'B' || unit.toLowerCase().startsWith('byte') ? 1 : 1 / 8;
  const rate = (Number(links) * Number(digits) * (own(bytesPerUnit, prefix.toLowerCase()) ?? 1) * bytes) / 1e9;
  return Number.isFinite(rate) && rate > 0 ? rate : null;
}
