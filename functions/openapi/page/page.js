// Draws the document that the same service serves. No key is asked for, and none is sent.
const page = document.getElementById("page");
const sans = "system-ui, sans-serif";
const options = {
  disableSearch: false,
  expandResponses: "200,201",
  hideDownloadButton: false,
  jsonSampleExpandLevel: 3,
  requiredPropsFirst: true,
  nativeScrollbars: true,
  theme: {
    typography: {
      fontFamily: sans,
      headings: { fontFamily: sans },
      code: { fontFamily: "ui-monospace, monospace" },
    },
  },
};
Redoc.init("openapi.json", options, page, (error) => {
  if (error) page.textContent = `openapi.json could not be shown: ${error.message ?? error}`;
});
