# The app on a CPU. It serves 127.0.0.1 alone, so the container shares the host's network:
#   docker build -t ordinate .
#   docker run --rm --network host -v "$PWD/runs:/work/runs" ordinate
FROM python:3.11-slim
COPY . /src
# PyTorch's own index has builds without CUDA, a tenth in size.
RUN pip install --no-cache-dir torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu \
    && pip install --no-cache-dir --constraint /src/constraints.txt '/src[app]'
WORKDIR /work
EXPOSE 8501
CMD ["ordinate", "app", "--no-browser"]
