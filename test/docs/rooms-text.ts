import { coreRooms, extensionRooms, featureLayers, features, houses, webviewRooms, type House } from '../unit/rooms';
import { markdownTable } from './markdown';

const names = (rooms: readonly string[]): string => (rooms.length === 0 ? 'none' : rooms.map((room) => `\`${room}\``).join(', '));

/** The text of src/README.md. */
export function sourceText(): string {
  const others = ([folder, { files }]: readonly [string, House]): string => names(files.filter((file) => file !== folder));
  return [
    '# Where things are',
    '',
    'Written by `npm run docs -- --write` from `test/unit/rooms.ts`, which `test/unit/architecture.test.ts` enforces. [docs/architecture.md](../docs/architecture.md) draws how the parts work together.',
    '',
    'Imports go one way. A path without a slash at its end is the one file that may be imported.',
    '',
    ...markdownTable(
      ['folder', 'what is in it', 'may import of ours', 'may import of packages'],
      Object.entries(houses).map(([folder, house]) => [`\`${folder}\``, house.about, others([folder, house]), names(house.packages)]),
    ),
    '',
    '## Folders of `src/core`',
    '',
    'Everybody may use the files of `src/core` itself. A folder imports only from folders above it, types included.',
    '',
    ...markdownTable(
      ['folder', 'what is in it', 'may import'],
      Object.entries(coreRooms).map(([room, { about, imports }]) => [`\`${room}\``, about, names(imports)]),
    ),
    '',
    '## Folders of `src/features`',
    '',
    'A feature is a folder here and, where it has a page, a folder of `webview/tabs`. Each of its layers is a file or a folder, under the import rules of a folder of `src`. The core and the JSON of a feature import what its row names. Nothing in `src/core` imports a feature.',
    '',
    ...markdownTable(
      ['layer', 'under the rules of'],
      Object.entries(featureLayers).map(([layer, house]) => [`\`${layer}\``, `\`${house}\``]),
    ),
    '',
    ...markdownTable(
      ['feature', 'what it does', 'may import'],
      Object.entries(features).map(([feature, { about, imports }]) => [`\`${feature}\``, about, names(imports)]),
    ),
    '',
    '## Folders of `src/extension`',
    '',
    ...markdownTable(
      ['folder', 'what is in it'],
      Object.entries(extensionRooms).map(([room, about]) => [`\`${room}\``, about]),
    ),
    '',
  ].join('\n');
}

/** The text of webview/README.md. */
export function webviewText(): string {
  const { '': own, ...rooms } = webviewRooms;
  return [
    '# The page',
    '',
    'The page that VS Code shows: one bundle for the side view and the editor tab, plain DOM and canvas. The only folder that touches the DOM. Written by `npm run docs -- --write` from `test/unit/rooms.ts`, which `test/unit/architecture.test.ts` enforces.',
    '',
    `- Of its own files ${own?.about ?? ''}.`,
    '- The toolkit (`@vscode/webview-ui-toolkit`) is end of life: its maintainers archived it in January 2025. Moving to another library is a change of `base/ui.ts`. `toolkit-plugins.mjs` keeps it from breaking the strict Content-Security-Policy, and the bundle from what the page needs none of.',
    '- `styles/` uses the colours of VS Code as variables. Strings come through `t`, by their English text.',
    '- Pure files (no DOM) are tested in `test/unit/webview`, everything else in `test/webview` in a real Chromium.',
    '',
    ...markdownTable(
      ['folder', 'what is in it', 'may import'],
      Object.entries(rooms).map(([room, { about, imports }]) => [`\`${room}/\``, about, names(imports)]),
    ),
    '',
  ].join('\n');
}
