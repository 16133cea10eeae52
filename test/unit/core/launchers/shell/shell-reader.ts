import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ComposingReader } from '../../../../../src/core/launchers/composition';
import type { FactName, Facts } from '../../../../../src/core/run/facts';
import { createShellReader } from '../../../../../src/core/launchers/shell/read-shell';
import { loadShellParser } from '../../../../../src/core/languages/shell/parser';

const { resolve } = createRequire(import.meta.url);

export const fixtures = path.resolve(import.meta.dirname, '../../../../fixtures/launchers/shell');

/** The reader with the grammar that is shipped. */
export async function shellReader(): Promise<ComposingReader> {
  const parser = await loadShellParser({
    runtime: readFileSync(resolve('web-tree-sitter/web-tree-sitter.wasm')),
    bash: readFileSync(resolve('tree-sitter-bash/tree-sitter-bash.wasm')),
  });
  return createShellReader(parser);
}

export function values(facts: Facts): Partial<Record<FactName, unknown>> {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, fact.value]));
}
