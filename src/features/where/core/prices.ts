import { ExpectedError } from '../../../core/errors';
import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { machineNamed, type Machine } from './machines';

const mostPrice = 1e6;

/** Prices as `H100-80GB=2.5,p5.48xlarge=40`. @throws ExpectedError `where-prices`; as `machineNamed`. */
export function parsePrices(written: string): ReadonlyMap<string, number> {
  return toPrices(
    written.split(',').map((part) => {
      const [name = '', price = ''] = part.split('=');
      return [name.trim(), price.trim() === '' ? NaN : Number(price)];
    }),
  );
}

/** The prices of a JSON object `{"H100-80GB": 2.5}`. @throws ExpectedError `where-prices` for anything else. */
export function readPrices(text: string): ReadonlyMap<string, number> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return toPrices(Object.entries(value));
  throw new ExpectedError(
    'where-prices',
    sentence`The file of prices is not a JSON object`,
    sentence`write {"H100-80GB": 2.5, "p5.48xlarge": 40}`,
  );
}

/** Prices by name of a GPU or machine type. @throws ExpectedError `where-prices`; as `machineNamed`. */
export function toPrices(entries: readonly (readonly [name: string, price: unknown])[]): ReadonlyMap<string, number> {
  return new Map(
    entries.map(([name, price]) => {
      if (typeof price === 'number' && price > 0 && price <= mostPrice) return [machineNamed(name).name, price];
      throw new ExpectedError('where-prices', sentence`${quoted(name)} has no price`, sentence`give it a number above 0, as ${name}=2.5`);
    }),
  );
}

/**
 * Price of one GPU for an hour: that of its machine type, which is for a whole node as clouds list it, or of its GPU; null where neither is
 * given.
 */
export function gpuHourPrice(prices: ReadonlyMap<string, number>, { name, isInstance, gpu, gpusPerNode }: Machine): number | null {
  const ofNode = isInstance ? prices.get(name) : undefined;
  return ofNode === undefined ? (prices.get(gpu) ?? null) : ofNode / gpusPerNode;
}
