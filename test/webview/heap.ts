import type { CDPSession } from 'playwright-core';

/** Entries that Chromium itself keeps of how a page ran, up to a limit. */
const timings = /^(Performance|LayoutShift|DOMRectReadOnly|TaskAttribution)/;

/** How many objects of each constructor a page holds, elements included, after garbage collection: code and its caches are left out. */
export async function heldObjects(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const pieces: string[] = [];
  const listen = ({ chunk }: { readonly chunk: string }): void => void pieces.push(chunk);
  session.on('HeapProfiler.addHeapSnapshotChunk', listen);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  session.off('HeapProfiler.addHeapSnapshotChunk', listen);
  const { snapshot, nodes, strings } = JSON.parse(pieces.join('')) as HeapSnapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const counts = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const type = types[0]?.[nodes[at] ?? 0] ?? '';
    const name = strings[nodes[at + fields.indexOf('name')] ?? 0] ?? '';
    if ((type === 'object' || type === 'closure') && !timings.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

interface HeapSnapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly (readonly string[])[] } };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}
