import { toJsonSchema } from '@valibot/to-json-schema';
import { without } from '../../src/core/records';
import { tools } from '../../src/features/agents/core/registry';

/** What each tool of agents is called, answers and takes, as every door lists it. */
export function agentTools() {
  return Object.entries(tools).map(([name, { title, description, input }]) => {
    const inputSchema = without(toJsonSchema(input, { errorMode: 'ignore' }), '$schema');
    return { name, title, description, inputSchema: { ...inputSchema, additionalProperties: false } };
  });
}

/** The list that the server of agents is built with. */
export function agentToolsText(): string {
  return `${JSON.stringify(agentTools(), null, 2)}\n`;
}
