//! A Chromium without a window, driven by chromedriver: W3C WebDriver over HTTP/1.1.

use std::{
    fmt,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// A browser with one page; it ends with this.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// There is no browser here.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; apt-get install chromium chromium-driver", self.0)
    }
}

impl Browser {
    /// No answer takes longer. Ours.
    const LONGEST: Duration = Duration::from_secs(60);
    /// What was asked for is drawn a few frames later.
    const FRAMES: Duration = Duration::from_millis(300);

    pub(crate) fn start() -> Result<Self, Missing> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Missing(format!("chromedriver: {error}")))?;
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self { driver, port: port.unwrap_or(0), session: String::new() };
        if port.is_none() {
            return Err(Missing("chromedriver does not start".to_owned()));
        }
        let options = json!({
            // Containers have a small /dev/shm and often no user namespaces.
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--window-size=1300,1000"],
        });
        let wanted = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": options,
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": wanted } });
        let session = browser.request("POST", "/session", &wanted).map_err(Missing)?;
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        Ok(browser)
    }

    pub(crate) fn open(&self, page: &Path) {
        self.call("url", &json!({ "url": format!("file://{}", page.display()) }));
        thread::sleep(Self::FRAMES);
    }

    /// What a script returns.
    pub(crate) fn evaluate(&self, script: &str) -> Value {
        let value = self.call("execute/sync", &json!({ "script": script, "args": [] }));
        thread::sleep(Self::FRAMES);
        value
    }

    /// The text of the first element that `selector` matches.
    pub(crate) fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector('{selector}').textContent");
        self.evaluate(&script).as_str().unwrap().to_owned()
    }

    /// A picture of the page from the top of the first element to the bottom of the second one, as PNG.
    pub(crate) fn picture(&self, elements: [&str; 2]) -> Vec<u8> {
        let clip = self.evaluate(&format!(
            "const [first, last] = {elements:?}.map((it) =>
               document.querySelector(it).getBoundingClientRect());
             return {{ x: first.x + scrollX - 10, y: first.y + scrollY - 10, width: first.width + 20,
               height: last.bottom - first.y + 20, scale: 1 }};"
        ));
        let wanted = json!({ "clip": clip, "captureBeyondViewport": true });
        let taken = self.command("Page.captureScreenshot", &wanted);
        STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// What the page has logged since it was last asked for: errors and refusals.
    pub(crate) fn console(&self) -> Vec<String> {
        let log = self.call("se/log", &json!({ "type": "browser" }));
        log.as_array().unwrap().iter().map(Value::to_string).collect()
    }

    /// Chooses `value` in the `number`th select that `selector` matches.
    pub(crate) fn choose(&self, selector: &str, number: usize, value: &str) {
        self.evaluate(&format!(
            "const select = document.querySelectorAll('{selector}')[{number}];
             select.value = '{value}'; select.dispatchEvent(new Event('change'));"
        ));
    }

    /// Presses `keys` one after the other where `selector` is.
    pub(crate) fn keys(&self, selector: &str, keys: &str) {
        self.evaluate(&format!("document.querySelector('{selector}').focus()"));
        let mut actions = Vec::new();
        for key in keys.chars() {
            actions.extend(["keyDown", "keyUp"].map(|it| json!({ "type": it, "value": key })));
        }
        self.act(&json!({ "type": "key", "id": "keyboard", "actions": actions }));
    }

    /// Drags the mouse over an element, between two shares of its width.
    pub(crate) fn drag_across(&self, selector: &str, [from, to]: [f64; 2]) {
        let places = self.evaluate(&format!(
            "const element = document.querySelector('{selector}');
             element.scrollIntoView({{ block: 'center' }});
             const {{ x, y, width, height }} = element.getBoundingClientRect();
             return [{from}, {to}].map((share) =>
               ({{ x: Math.round(x + width * share), y: Math.round(y + height / 2) }}));"
        ));
        let at = |place: usize| {
            let (x, y) = (&places[place]["x"], &places[place]["y"]);
            json!({ "type": "pointerMove", "duration": 50, "x": x, "y": y })
        };
        let (down, up) = ("pointerDown", "pointerUp");
        let [down, up] = [down, up].map(|it| json!({ "type": it, "button": 0 }));
        let actions = [at(0), down, at(1), up];
        self.act(&json!({ "type": "pointer", "id": "mouse", "actions": actions }));
    }

    pub(crate) fn emulate_phone(&self) {
        self.emulate_screen(390, true);
    }

    /// A screen of this many CSS pixels.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn emulate_screen(&self, width: u32, mobile: bool) {
        let screen =
            json!({ "width": width, "height": 800, "deviceScaleFactor": 2, "mobile": mobile });
        self.command("Emulation.setDeviceMetricsOverride", &screen);
    }

    pub(crate) fn emulate_media(&self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": media, "features": features });
        self.command("Emulation.setEmulatedMedia", &media);
    }

    /// A command of the browser's own protocol.
    fn command(&self, name: &str, parameters: &Value) -> Value {
        let result = self.call("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }));
        thread::sleep(Self::FRAMES);
        result
    }

    fn act(&self, actions: &Value) {
        self.call("actions", &json!({ "actions": [actions] }));
        thread::sleep(Self::FRAMES);
    }

    fn call(&self, what: &str, parameters: &Value) -> Value {
        let path = format!("/session/{}/{what}", self.session);
        self.request("POST", &path, parameters).unwrap()
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let answer = self.exchange(method, path, &body.to_string());
        let answer = answer.map_err(|error| format!("chromedriver: {error}"))?;
        let mut answer: Value = serde_json::from_slice(&answer).map_err(|it| it.to_string())?;
        match answer["value"].take() {
            error if error["error"].is_string() => Err(error["message"].to_string()),
            value => Ok(value),
        }
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Self::LONGEST))?;
        let (port, length) = (self.port, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        // It keeps the connection, whatever it is asked: the length says where the answer ends.
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        for line in reader.by_ref().lines() {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut answer = Vec::new();
        reader.take(length).read_to_end(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Browser {
    /// The session first: only chromedriver knows which browser is its own.
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        let _ = self.request("DELETE", &path, &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
