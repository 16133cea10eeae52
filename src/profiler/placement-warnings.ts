import { plural } from '../core/format';
import type { ProfileDevice, ProviderName } from '../core/domain/profile';
import type { PlacedOperator } from '../protocol/profiler';
import { providerTitles, reportedNames } from './providers';

/** A sentence when the adapter is software. */
export function deviceWarnings({ kind, name }: ProfileDevice): string[] {
  return kind === 'software' ? [`${name} draws on the CPU: these times say nothing about a GPU`] : [];
}

/** A sentence when a GPU provider left heavy nodes to the CPU, with their names and numbers; none for the CPU itself. */
export function placementWarnings(provider: ProviderName, operators: readonly PlacedOperator[]): string[] {
  if (provider === 'cpu') return [];
  const strays = operators.filter((placed) => placed.heavy && placed.provider !== reportedNames[provider]);
  if (strays.length === 0) return [];
  const nodes = new Map<string, number>();
  for (const stray of strays) nodes.set(stray.operator, (nodes.get(stray.operator) ?? 0) + stray.nodes);
  const total = [...nodes.values()].reduce((sum, count) => sum + count, 0);
  const names = [...nodes].sort(([, a], [, b]) => b - a).map(([name, count]) => (count === 1 ? name : `${name} x ${count}`));
  return [
    `${providerTitles[provider]} left ${plural(total, 'heavy node')} to the CPU (${names.join(', ')}): times include it and the copies to and fro, a training framework would be faster`,
  ];
}
