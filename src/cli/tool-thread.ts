export { serveTools } from '../features/agents/cli/tool-jobs';
