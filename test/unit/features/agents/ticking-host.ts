import { readFileSync } from 'node:fs';
import path from 'node:path';
import { usualDefaults } from '../../../../src/features/agents/core/load';
import type { ToolHost } from '../../../../src/features/agents/core/tool';

const samples = path.join(import.meta.dirname, '../../../../media/samples');

/** A host whose clock advances by `tickMs` at each look: the same on every machine. */
export function hostTicking(tickMs: number): ToolHost & { readonly now: () => number } {
  let now = 0;
  return {
    open: (file) => Promise.resolve({ file, text: readFileSync(path.join(samples, file), 'utf8') }),
    read: () => Promise.reject(new Error('a config.json refers to nothing')),
    shell: () => Promise.reject(new Error('no script is read')),
    defaults: usualDefaults,
    signal: { aborted: false },
    progress: () => undefined,
    clock: () => (now += tickMs),
    now: () => now,
  };
}
