import { RuleTester } from 'eslint';
import { describe, it } from 'mocha';
import tseslint from 'typescript-eslint';
import { foreignKeys } from '../../harness/foreign-keys.mjs';

RuleTester.describe = describe;
RuleTester.it = it;

const tester = new RuleTester({
  languageOptions: {
    parser: tseslint.parser,
    parserOptions: { projectService: { allowDefaultProject: ['*.ts'] }, tsconfigRootDir: import.meta.dirname },
  },
});

const table = 'declare const table: Record<string, number>; ';
const read = [{ messageId: 'read' }];
const named = (code: string) => ({ code: table + code, filename: 'foreign.ts' });
const refused = (code: string, errors = read) => ({ ...named(code), errors });

tester.run('a lookup by a text that may be any', foreignKeys, {
  valid: [
    "export const one = (key: 'a' | 'b') => table[key];",
    'export const one = (rows: number[], index: number) => rows[index];',
    'export const set = (key: string) => { table[key] = 1; };',
    'export const one = <T extends object, K extends keyof T>(from: T, key: K) => from[key];',
    'export const one = <T extends object>(from: T, key: keyof T & string) => from[key];',
    "export const one = <K extends 'a' | 'b'>(key: K) => { const { [key]: value } = table; return value; };",
    'export const one = ({ a: value }: Record<string, number>) => value;',
    'export const has = (key: string) => Object.hasOwn(table, key);',
  ].map(named),
  invalid: [
    refused('export const one = (key: string) => table[key];'),
    refused('export const one = (key: any) => table[key];'),
    refused("export const one = (key: `x-${string}` | 'a') => table[key];"),
    refused('export const one = <K extends string>(key: K) => table[key];'),
    refused('type Name = string & { readonly brand: true }; export const one = (key: Name) => table[key];'),
    refused('export const one = (key: string) => { const { [key]: value } = table; return value; };'),
    refused('export const one = <K extends string>(key: K, { [key]: value }: Record<string, number>) => value;'),
    refused('export const has = (key: string) => key in table;', [{ messageId: 'in' }]),
  ],
});
