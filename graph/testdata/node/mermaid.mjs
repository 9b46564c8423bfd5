// Reads a JSON list of Mermaid diagrams from standard input, parses each with the
// real package, and prints what it understood of each as a JSON list.
import { JSDOM } from "jsdom";
import { json } from "node:stream/consumers";

const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;

const { default: mermaid } = await import("mermaid");
mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });

async function understand(source) {
  await mermaid.parse(source);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(source);
  const { themeCSS: css } = mermaid.mermaidAPI.getConfig();
  const { nodes, edges } = db.getData(); // what Mermaid's renderer is given
  return {
    css,
    direction: db.getDirection(),
    accTitle: db.getAccTitle(),
    accDescription: db.getAccDescription(),
    states: nodes.filter((node) => !node.isGroup).map((node) => ({
      name: [node.label].flat().join(" "),
      part: nodes.find((group) => group.id === node.parentId)?.label ?? "",
      id: node.id,
      classes: node.cssClasses.split(" "),
    })),
    edges: edges.map((edge) => ({ id: edge.id, from: edge.start, to: edge.end, label: edge.label })),
  };
}

const understood = [];
for (const source of await json(process.stdin)) {
  understood.push(await understand(source));
}
console.log(JSON.stringify(understood));
