import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { foreignKeys } from './test/harness/foreign-keys.mjs';

// A literal's properties and elements are written where they belong; one to a line is fine.
const spreadLiterals = [
  { selector: 'SpreadElement > ObjectExpression', message: 'Write the properties without spreading a literal.' },
  { selector: 'SpreadElement > ArrayExpression', message: 'Write the elements without spreading a literal.' },
];

// A list of a file may be longer than the stack takes arguments.
const spreadArguments = {
  selector: 'CallExpression[callee.property.name=/^(?:max|min|push|unshift|splice|apply)$/] > SpreadElement',
  message: 'Use maximum, minimum (src/core/numbers.ts) or append (src/core/records.ts): a call takes only some 100,000 arguments.',
};

const linesPerFunction = (max) => ({ 'max-lines-per-function': ['error', { max, skipBlankLines: true, skipComments: true }] });

/** Files in which a function has more than five parameters. */
const manyParameters = {
  // Called for each slice, operation or rectangle: an object for each call would be most of the time that it takes.
  8: [
    'src/core/slicing/{affine-rows,methods,prune,suffix-costs,tabulated-rows}.ts',
    'src/core/slicing/makespan/slice-times.ts',
    'src/core/memory-model/curve.ts',
    'src/core/schedules/zero-bubble/{order-times,retime-after-move}.ts',
    'webview/{charts/lanes/{draw-lanes,pane},charts/memory/bars,tabs/elastic/draw,tabs/timeline/memory-lane-draw}.ts',
    // The operands of an operator, in the operator's order.
    'src/profiler/graph/{emit,experts,norms,sources}.ts',
  ],
  // To be grouped.
  6: [
    'src/core/export/launchers/edit-launcher.ts',
    'src/core/languages/shell/evaluate.ts',
    'src/core/memory-model/count.ts',
    'src/core/rules/settings.ts',
    'src/core/time-model/{expert-time,ssm-time}.ts',
    'webview/tabs/profile/head.ts',
  ],
};

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'out/', 'coverage/', '.tools/', '.vscode-test/'] },
  js.configs.recommended,
  { rules: { 'no-restricted-syntax': ['error', ...spreadLiterals] } },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: ['./tsconfig.json', './webview/tsconfig.json'], tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      eqeqeq: 'error',
    },
  },
  {
    // Lines that prettier cannot break are texts.
    files: ['**/*.ts'],
    rules: {
      'max-len': [
        'error',
        {
          code: 140,
          ignoreTrailingComments: true,
          ignoreUrls: true,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
        },
      ],
    },
  },
  // In tests a function of mocha's is a list of cases, and arbitrary values come as a list of arguments.
  {
    files: ['{src,webview}/**/*.ts'],
    plugins: { terapipe: { rules: { 'foreign-keys': foreignKeys } } },
    rules: {
      ...linesPerFunction(100),
      'max-params': ['error', 5],
      'no-restricted-syntax': ['error', ...spreadLiterals, spreadArguments],
      'terapipe/foreign-keys': 'error',
    },
  },
  // Where `own` is.
  { files: ['src/core/records.ts'], rules: { 'terapipe/foreign-keys': 'off' } },
  ...Object.entries(manyParameters).map(([max, files]) => ({ files, rules: { 'max-params': ['error', Number(max)] } })),
  {
    // mocha's describe and it are fine to leave floating; tests index arrays they just built.
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', name: ['describe', 'it'], package: 'mocha' }] },
      ],
    },
  },
  {
    // No test passes or fails by the clock: it would fail on a busy machine. Times belong in test/bench.
    files: ['test/{unit,property,full,webview,vscode}/**/*.ts'],
    ignores: [
      // Notes that are printed, not judged.
      'test/vscode/walk.ts',
      'test/vscode/walk-main-job.ts',
      'test/vscode/walk-newcomer.ts',
      'test/vscode/suite/{activation,profile}.test.ts',
      // A clock handed to what is tested; the age of a file.
      'test/unit/cli/profile*.test.ts',
      'test/unit/files/write-whole.test.ts',
      // Measures for test/bench/interrupts.ts how soon Ctrl+C ends a command.
      'test/unit/cli/long-commands.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        ...['performance', 'Date'].map((object) => ({
          object,
          property: 'now',
          message: 'Count steps, polls or operations instead of time; waits are in until(). Times belong in test/bench.',
        })),
      ],
      'no-restricted-syntax': [
        'error',
        ...spreadLiterals,
        {
          selector: "CallExpression[callee.object.type='ThisExpression'][callee.property.name='timeout'][arguments.0.value!=0]",
          message: 'A test has no limit of its own: the runner stops what hangs, and names it.',
        },
      ],
    },
  },
  {
    files: ['src/web/sw.js'],
    languageOptions: {
      globals: {
        self: 'readonly',
        caches: 'readonly',
        fetch: 'readonly',
        Headers: 'readonly',
        Response: 'readonly',
        FILES: 'readonly',
      },
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        fetch: 'readonly',
        Buffer: 'readonly',
        AbortSignal: 'readonly',
        AbortController: 'readonly',
      },
    },
  },
);
