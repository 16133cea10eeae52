import { readFile } from 'node:fs/promises';

/*
 * What the bundle changes in the webview UI toolkit and in FAST, on which it is built.
 */

/**
 * Replaces a part of one module, and fails where the module has no such part: a version that the change was not written for.
 * @param {RegExp} filter the module
 * @param {RegExp} part
 * @param {string | ((...found: string[]) => string)} by
 * @returns {import('esbuild').Plugin}
 */
function replacing(filter, part, by) {
  return {
    name: `replacing ${filter.source}`,
    setup(build) {
      build.onLoad({ filter }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        if (!part.test(text)) throw new Error(`${path} has no ${part.source} to replace`);
        return { contents: text.replace(part, typeof by === 'string' ? () => by : by), loader: 'js' };
      });
    },
  };
}

/**
 * FAST asks whether the browser knows `:focus-visible` by adding an inline style element when it loads, which a strict CSP refuses and
 * reports. Every VS Code we run in knows it, so the bundle answers yes.
 */
const withoutStyleProbe = replacing(
  /fast-web-utilities[\\/]dist[\\/]dom\.js$/,
  /export function canUseFocusVisible\(\) \{[\s\S]*?\n\}/,
  'export function canUseFocusVisible() {\n    return true;\n}',
);

/** For pages with several design systems FAST injects dependencies, which are a tenth of it. The page has one design system. */
const oneDesignSystem = replacing(
  /webview-ui-toolkit[\\/]dist[\\/]vscode-design-system\.js$/,
  /^[\s\S]*export function provideVSCodeDesignSystem\([\s\S]*$/,
  `import { FASTElementDefinition } from '@microsoft/fast-element';
import { ComponentPresentation } from '@microsoft/fast-foundation';
function tryDefineElement({ name, type, callback }) {
  callback({
    definePresentation: (presentation) => ComponentPresentation.define(name, presentation),
    defineElement: (definition) => new FASTElementDefinition(type, { ...definition, name }).define(),
  });
}
export function provideVSCodeDesignSystem() {
  const register = (...elements) => elements.forEach((each) => each.register(null, { elementPrefix: 'vscode', tryDefineElement }));
  return { register };
}
`,
);

const onePresentation = replacing(
  /fast-foundation[\\/]dist[\\/]esm[\\/]design-system[\\/]component-presentation\.js$/,
  /import \{ DI[\s\S]*export const ComponentPresentation = [\s\S]*?\n\}\);/,
  `const presentations = new Map();
export const ComponentPresentation = {
  define: (tag, presentation) => presentations.set(tag, presentation),
  forTag: (tag) => presentations.get(tag.toLowerCase()) ?? null,
};`,
);

/**
 * The toolkit copies colours of VS Code into variables of its own by script, at each change of the theme. CSS follows them itself;
 * styles/toolkit.css has the exceptions of high contrast.
 */
const tokensInCss = replacing(
  /webview-ui-toolkit[\\/]dist[\\/]utilities[\\/]design-tokens[\\/]create\.js$/,
  /^[\s\S]*export function create\([\s\S]*$/,
  `export const create = ([name, variable], value) => {
  const fallback = name.includes('background') ? \`var(--toolkit-no-background, \${value})\` : value;
  return \`var(--\${name}, \${variable?.startsWith('--vscode-') ? \`var(\${variable}, \${fallback})\` : value})\`;
};
`,
);

/** Most of those colours are of elements that the page does not have: calls that are known to do nothing else are left out. */
const usedTokens = replacing(
  /webview-ui-toolkit[\\/]dist[\\/]design-tokens\.js$/,
  /\bcreate\(([^)]*)\)\s*\.withDefault\(/g,
  (_, names) => `/* @__PURE__ */ create([${names}], `,
);

/** The plugins of every bundle of the page. */
export const toolkitPlugins = [withoutStyleProbe, oneDesignSystem, onePresentation, tokensInCss, usedTokens];
