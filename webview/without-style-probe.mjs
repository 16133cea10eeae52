import { readFile } from 'node:fs/promises';

/**
 * FAST, under the toolkit, asks whether the browser knows `:focus-visible` by adding an inline style element when it loads, which a strict
 * CSP
 * refuses and reports. Every VS Code we run in knows it, so the bundle answers yes.
 *
 * @type {import('esbuild').Plugin}
 */
export const withoutStyleProbe = {
  name: 'without-style-probe',
  setup(build) {
    build.onLoad({ filter: /fast-web-utilities[\\/]dist[\\/]dom\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const probe = /export function canUseFocusVisible\(\) \{[\s\S]*?\n\}/;
      if (!probe.test(text)) throw new Error(`${path} has no canUseFocusVisible to replace`);
      return { contents: text.replace(probe, 'export function canUseFocusVisible() {\n    return true;\n}'), loader: 'js' };
    });
  },
};
