import js from '@eslint/js';
import tseslint from 'typescript-eslint';

// Properties and elements stand where they belong; one to a line is fine.
const spreadLiterals = [
  { selector: 'SpreadElement > ObjectExpression', message: 'Write the properties without spreading a literal.' },
  { selector: 'SpreadElement > ArrayExpression', message: 'Write the elements without spreading a literal.' },
];

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
