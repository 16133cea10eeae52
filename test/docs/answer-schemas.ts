import path from 'node:path';
import { createGenerator } from 'ts-json-schema-generator';

const root = path.resolve(import.meta.dirname, '../..');

/** The type of what each command prints with `--json`, and of an error. */
export const answerTypes = {
  plan: 'PlanAnswer',
  search: 'SearchAnswer',
  check: 'CheckAnswer',
  memory: 'MemoryAnswer',
  solve: 'SolveAnswer',
  simulate: 'SimulateAnswer',
  prefill: 'PrefillAnswer',
  elastic: 'ElasticAnswer',
  diff: 'DiffAnswer',
  inspect: 'InspectAnswer',
  export: 'ExportAnswer',
  where: 'WhereAnswer',
  days: 'DaysAnswer',
  oom: 'OomAnswer',
  max: 'MaxAnswer',
  error: 'ErrorAnswer',
} as const;

/** JSON Schemas of the answers, from the types of the API: what these lack may be there too, since fields are added. */
export function answerSchemasText(): string {
  const generator = createGenerator({
    path: path.join(root, 'src/api/*types.ts'),
    tsconfig: path.join(root, 'tsconfig.json'),
    additionalProperties: true,
    skipTypeCheck: true,
  });
  const definitions = Object.assign({}, ...Object.values(answerTypes).map((type) => generator.createSchema(type).definitions)) as Readonly<
    Record<string, object>
  >;
  return JSON.stringify({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'What terapipe prints with --json',
    anyOf: Object.values(answerTypes).map((type) => ({ $ref: `#/definitions/${type}` })),
    definitions,
  });
}
